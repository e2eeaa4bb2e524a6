; native_api.c, 0fd83b6c48f06b9020756202bbe5f54070b392e4356cb0b13cdde2cf8f68b3ec
@xonnc_api_text = private unnamed_addr constant [22 x i8] c"no code of this model\00", align 1
@xonnc_api_text.1 = private unnamed_addr constant [3 x i8] c"rb\00", align 1
@xonnc_api_text.2 = private unnamed_addr constant [17 x i8] c"XONNCWGT\01\00\00\00@\00\00\00\00", align 1

define ptr @PREFIX_message(i32 noundef %0) {
  %2 = load i64, ptr @xonnc_info, align 8
  %3 = load i64, ptr getelementptr inbounds nuw (i8, ptr @xonnc_info, i64 8), align 8
  %4 = add nsw i64 %3, %2
  %5 = icmp slt i32 %0, 0
  br i1 %5, label %16, label %6

6:                                                ; preds = %1
  %7 = zext nneg i32 %0 to i64
  %8 = load i64, ptr getelementptr inbounds nuw (i8, ptr @xonnc_info, i64 104), align 8
  %9 = icmp sgt i64 %8, %7
  br i1 %9, label %10, label %16

10:                                               ; preds = %6
  %11 = shl i64 %4, 4
  %12 = getelementptr i8, ptr @xonnc_texts, i64 %11
  %13 = getelementptr ptr, ptr %12, i64 %7
  %14 = getelementptr i8, ptr %13, i64 8
  %15 = load ptr, ptr %14, align 8
  br label %16

16:                                               ; preds = %1, %6, %10
  %17 = phi ptr [ %15, %10 ], [ @xonnc_api_text, %6 ], [ @xonnc_api_text, %1 ]
  ret ptr %17
}

declare void @llvm.lifetime.start.p0(ptr captures(none))

declare void @llvm.lifetime.end.p0(ptr captures(none))

define i32 @PREFIX_input_count() {
  %1 = load i64, ptr @xonnc_info, align 8
  %2 = trunc i64 %1 to i32
  ret i32 %2
}

define ptr @PREFIX_input_name(i32 noundef %0) {
  %2 = icmp sgt i32 %0, -1
  br i1 %2, label %3, label %13

3:                                                ; preds = %1
  %4 = zext nneg i32 %0 to i64
  %5 = load i64, ptr @xonnc_info, align 8
  %6 = icmp sgt i64 %5, %4
  br i1 %6, label %7, label %13

7:                                                ; preds = %3
  %8 = shl nuw nsw i32 %0, 1
  %9 = zext nneg i32 %8 to i64
  %10 = getelementptr ptr, ptr @xonnc_texts, i64 %9
  %11 = getelementptr i8, ptr %10, i64 8
  %12 = load ptr, ptr %11, align 8
  br label %13

13:                                               ; preds = %1, %3, %7
  %14 = phi ptr [ %12, %7 ], [ null, %3 ], [ null, %1 ]
  ret ptr %14
}

define ptr @PREFIX_input_type(i32 noundef %0) {
  %2 = icmp sgt i32 %0, -1
  br i1 %2, label %3, label %13

3:                                                ; preds = %1
  %4 = zext nneg i32 %0 to i64
  %5 = load i64, ptr @xonnc_info, align 8
  %6 = icmp sgt i64 %5, %4
  br i1 %6, label %7, label %13

7:                                                ; preds = %3
  %8 = shl nuw nsw i32 %0, 1
  %9 = zext nneg i32 %8 to i64
  %10 = getelementptr ptr, ptr @xonnc_texts, i64 %9
  %11 = getelementptr i8, ptr %10, i64 16
  %12 = load ptr, ptr %11, align 8
  br label %13

13:                                               ; preds = %1, %3, %7
  %14 = phi ptr [ %12, %7 ], [ null, %3 ], [ null, %1 ]
  ret ptr %14
}

define i64 @PREFIX_input_element_bytes(i32 noundef %0) {
  %2 = icmp sgt i32 %0, -1
  br i1 %2, label %3, label %13

3:                                                ; preds = %1
  %4 = zext nneg i32 %0 to i64
  %5 = load i64, ptr @xonnc_info, align 8
  %6 = icmp sgt i64 %5, %4
  br i1 %6, label %7, label %13

7:                                                ; preds = %3
  %8 = shl nsw i32 %0, 2
  %9 = zext nneg i32 %8 to i64
  %10 = getelementptr inbounds nuw i64, ptr @xonnc_ports, i64 %9
  %11 = getelementptr inbounds nuw i8, ptr %10, i64 24
  %12 = load i64, ptr %11, align 8
  br label %13

13:                                               ; preds = %1, %3, %7
  %14 = phi i64 [ %12, %7 ], [ 0, %3 ], [ 0, %1 ]
  ret i64 %14
}

define i32 @PREFIX_input_rank(i32 noundef %0) {
  %2 = icmp sgt i32 %0, -1
  br i1 %2, label %3, label %13

3:                                                ; preds = %1
  %4 = zext nneg i32 %0 to i64
  %5 = load i64, ptr @xonnc_info, align 8
  %6 = icmp sgt i64 %5, %4
  br i1 %6, label %7, label %13

7:                                                ; preds = %3
  %8 = shl nsw i32 %0, 2
  %9 = zext nneg i32 %8 to i64
  %10 = getelementptr inbounds nuw i64, ptr @xonnc_ports, i64 %9
  %11 = load i64, ptr %10, align 8
  %12 = trunc i64 %11 to i32
  br label %13

13:                                               ; preds = %1, %3, %7
  %14 = phi i32 [ %12, %7 ], [ -1, %3 ], [ -1, %1 ]
  ret i32 %14
}

define ptr @PREFIX_input_shape(i32 noundef %0) {
  %2 = icmp sgt i32 %0, -1
  br i1 %2, label %3, label %14

3:                                                ; preds = %1
  %4 = zext nneg i32 %0 to i64
  %5 = load i64, ptr @xonnc_info, align 8
  %6 = icmp sgt i64 %5, %4
  br i1 %6, label %7, label %14

7:                                                ; preds = %3
  %8 = shl nsw i32 %0, 2
  %9 = zext nneg i32 %8 to i64
  %10 = getelementptr inbounds nuw i64, ptr @xonnc_ports, i64 %9
  %11 = getelementptr inbounds nuw i8, ptr %10, i64 8
  %12 = load i64, ptr %11, align 8
  %13 = getelementptr inbounds i64, ptr @xonnc_shapes, i64 %12
  br label %14

14:                                               ; preds = %1, %3, %7
  %15 = phi ptr [ %13, %7 ], [ null, %3 ], [ null, %1 ]
  ret ptr %15
}

define i64 @PREFIX_input_bytes(i32 noundef %0) {
  %2 = icmp sgt i32 %0, -1
  br i1 %2, label %3, label %13

3:                                                ; preds = %1
  %4 = zext nneg i32 %0 to i64
  %5 = load i64, ptr @xonnc_info, align 8
  %6 = icmp sgt i64 %5, %4
  br i1 %6, label %7, label %13

7:                                                ; preds = %3
  %8 = shl nsw i32 %0, 2
  %9 = zext nneg i32 %8 to i64
  %10 = getelementptr inbounds nuw i64, ptr @xonnc_ports, i64 %9
  %11 = getelementptr inbounds nuw i8, ptr %10, i64 16
  %12 = load i64, ptr %11, align 8
  br label %13

13:                                               ; preds = %1, %3, %7
  %14 = phi i64 [ %12, %7 ], [ 0, %3 ], [ 0, %1 ]
  ret i64 %14
}

define i32 @PREFIX_output_count() {
  %1 = load i64, ptr getelementptr inbounds nuw (i8, ptr @xonnc_info, i64 8), align 8
  %2 = trunc i64 %1 to i32
  ret i32 %2
}

define ptr @PREFIX_output_name(i32 noundef %0) {
  %2 = icmp sgt i32 %0, -1
  br i1 %2, label %3, label %14

3:                                                ; preds = %1
  %4 = zext nneg i32 %0 to i64
  %5 = load i64, ptr getelementptr inbounds nuw (i8, ptr @xonnc_info, i64 8), align 8
  %6 = icmp sgt i64 %5, %4
  br i1 %6, label %7, label %14

7:                                                ; preds = %3
  %8 = load i64, ptr @xonnc_info, align 8
  %9 = add nsw i64 %8, %4
  %10 = shl i64 %9, 4
  %11 = getelementptr i8, ptr @xonnc_texts, i64 %10
  %12 = getelementptr i8, ptr %11, i64 8
  %13 = load ptr, ptr %12, align 8
  br label %14

14:                                               ; preds = %1, %3, %7
  %15 = phi ptr [ %13, %7 ], [ null, %3 ], [ null, %1 ]
  ret ptr %15
}

define ptr @PREFIX_output_type(i32 noundef %0) {
  %2 = icmp sgt i32 %0, -1
  br i1 %2, label %3, label %14

3:                                                ; preds = %1
  %4 = zext nneg i32 %0 to i64
  %5 = load i64, ptr getelementptr inbounds nuw (i8, ptr @xonnc_info, i64 8), align 8
  %6 = icmp sgt i64 %5, %4
  br i1 %6, label %7, label %14

7:                                                ; preds = %3
  %8 = load i64, ptr @xonnc_info, align 8
  %9 = add nsw i64 %8, %4
  %10 = shl i64 %9, 4
  %11 = getelementptr i8, ptr @xonnc_texts, i64 %10
  %12 = getelementptr i8, ptr %11, i64 16
  %13 = load ptr, ptr %12, align 8
  br label %14

14:                                               ; preds = %1, %3, %7
  %15 = phi ptr [ %13, %7 ], [ null, %3 ], [ null, %1 ]
  ret ptr %15
}

define i64 @PREFIX_output_element_bytes(i32 noundef %0) {
  %2 = icmp sgt i32 %0, -1
  br i1 %2, label %3, label %14

3:                                                ; preds = %1
  %4 = zext nneg i32 %0 to i64
  %5 = load i64, ptr getelementptr inbounds nuw (i8, ptr @xonnc_info, i64 8), align 8
  %6 = icmp sgt i64 %5, %4
  br i1 %6, label %7, label %14

7:                                                ; preds = %3
  %8 = load i64, ptr @xonnc_info, align 8
  %9 = add nsw i64 %8, %4
  %10 = shl nsw i64 %9, 5
  %11 = getelementptr inbounds i8, ptr @xonnc_ports, i64 %10
  %12 = getelementptr inbounds nuw i8, ptr %11, i64 24
  %13 = load i64, ptr %12, align 8
  br label %14

14:                                               ; preds = %1, %3, %7
  %15 = phi i64 [ %13, %7 ], [ 0, %3 ], [ 0, %1 ]
  ret i64 %15
}

define i32 @PREFIX_output_rank(i32 noundef %0) {
  %2 = icmp sgt i32 %0, -1
  br i1 %2, label %3, label %14

3:                                                ; preds = %1
  %4 = zext nneg i32 %0 to i64
  %5 = load i64, ptr getelementptr inbounds nuw (i8, ptr @xonnc_info, i64 8), align 8
  %6 = icmp sgt i64 %5, %4
  br i1 %6, label %7, label %14

7:                                                ; preds = %3
  %8 = load i64, ptr @xonnc_info, align 8
  %9 = add nsw i64 %8, %4
  %10 = shl nsw i64 %9, 5
  %11 = getelementptr inbounds i8, ptr @xonnc_ports, i64 %10
  %12 = load i64, ptr %11, align 8
  %13 = trunc i64 %12 to i32
  br label %14

14:                                               ; preds = %1, %3, %7
  %15 = phi i32 [ %13, %7 ], [ -1, %3 ], [ -1, %1 ]
  ret i32 %15
}

define ptr @PREFIX_output_shape(i32 noundef %0) {
  %2 = icmp sgt i32 %0, -1
  br i1 %2, label %3, label %15

3:                                                ; preds = %1
  %4 = zext nneg i32 %0 to i64
  %5 = load i64, ptr getelementptr inbounds nuw (i8, ptr @xonnc_info, i64 8), align 8
  %6 = icmp sgt i64 %5, %4
  br i1 %6, label %7, label %15

7:                                                ; preds = %3
  %8 = load i64, ptr @xonnc_info, align 8
  %9 = add nsw i64 %8, %4
  %10 = shl nsw i64 %9, 5
  %11 = getelementptr inbounds i8, ptr @xonnc_ports, i64 %10
  %12 = getelementptr inbounds nuw i8, ptr %11, i64 8
  %13 = load i64, ptr %12, align 8
  %14 = getelementptr inbounds i64, ptr @xonnc_shapes, i64 %13
  br label %15

15:                                               ; preds = %1, %3, %7
  %16 = phi ptr [ %14, %7 ], [ null, %3 ], [ null, %1 ]
  ret ptr %16
}

define i64 @PREFIX_output_bytes(i32 noundef %0) {
  %2 = icmp sgt i32 %0, -1
  br i1 %2, label %3, label %14

3:                                                ; preds = %1
  %4 = zext nneg i32 %0 to i64
  %5 = load i64, ptr getelementptr inbounds nuw (i8, ptr @xonnc_info, i64 8), align 8
  %6 = icmp sgt i64 %5, %4
  br i1 %6, label %7, label %14

7:                                                ; preds = %3
  %8 = load i64, ptr @xonnc_info, align 8
  %9 = add nsw i64 %8, %4
  %10 = shl nsw i64 %9, 5
  %11 = getelementptr inbounds i8, ptr @xonnc_ports, i64 %10
  %12 = getelementptr inbounds nuw i8, ptr %11, i64 16
  %13 = load i64, ptr %12, align 8
  br label %14

14:                                               ; preds = %1, %3, %7
  %15 = phi i64 [ %13, %7 ], [ 0, %3 ], [ 0, %1 ]
  ret i64 %15
}

define i32 @PREFIX_create(ptr noundef writeonly captures(address_is_null) %0, ptr noundef readonly captures(address_is_null) %1) {
  %3 = alloca [64 x i8], align 16
  %4 = icmp eq ptr %0, null
  br i1 %4, label %51, label %5

5:                                                ; preds = %2
  store ptr null, ptr %0, align 8
  %6 = tail call fastcc ptr @xonnc_new()
  %7 = icmp eq ptr %6, null
  br i1 %7, label %51, label %8

8:                                                ; preds = %5
  %9 = load ptr, ptr @xonnc_inside, align 8
  store ptr %9, ptr %6, align 8
  %10 = load i64, ptr getelementptr inbounds nuw (i8, ptr @xonnc_info, i64 16), align 8
  %11 = icmp sgt i64 %10, 0
  br i1 %11, label %12, label %48

12:                                               ; preds = %8
  %13 = icmp ne ptr %1, null
  %14 = icmp eq ptr %9, null
  %15 = select i1 %13, i1 true, i1 %14
  br i1 %15, label %16, label %48

16:                                               ; preds = %12
  %17 = icmp eq ptr %1, null
  br i1 %17, label %18, label %20

18:                                               ; preds = %16
  %19 = load ptr, ptr @xonnc_texts, align 8
  br label %20

20:                                               ; preds = %16, %18
  %21 = phi ptr [ %19, %18 ], [ %1, %16 ]
  call void @llvm.lifetime.start.p0(ptr nonnull %3)
  %22 = tail call ptr @fopen(ptr noundef readonly %21, ptr noundef nonnull @xonnc_api_text.1)
  %23 = icmp eq ptr %22, null
  br i1 %23, label %46, label %24

24:                                               ; preds = %20
  %25 = call i64 @fread(ptr noundef nonnull %3, i64 noundef 1, i64 noundef 64, ptr noundef nonnull %22)
  %26 = icmp eq i64 %25, 64
  br i1 %26, label %27, label %43

27:                                               ; preds = %24
  %28 = call fastcc i32 @xonnc_is_weight_header(ptr noundef %3)
  %29 = icmp eq i32 %28, 0
  br i1 %29, label %43, label %30

30:                                               ; preds = %27
  %31 = add nuw i64 %10, 64
  %32 = call ptr @malloc(i64 noundef %31)
  %33 = getelementptr inbounds nuw i8, ptr %6, i64 16
  store ptr %32, ptr %33, align 8
  %34 = icmp eq ptr %32, null
  br i1 %34, label %43, label %35

35:                                               ; preds = %30
  %36 = ptrtoint ptr %32 to i64
  %37 = and i64 %36, 63
  %38 = sub nuw nsw i64 64, %37
  %39 = getelementptr inbounds nuw i8, ptr %32, i64 %38
  store ptr %39, ptr %6, align 8
  %40 = call i64 @fread(ptr noundef nonnull %39, i64 noundef 1, i64 noundef %10, ptr noundef nonnull %22)
  %41 = icmp eq i64 %40, %10
  %42 = select i1 %41, i32 0, i32 7
  br label %43

43:                                               ; preds = %35, %30, %27, %24
  %44 = phi i32 [ %42, %35 ], [ 4, %30 ], [ 6, %27 ], [ 6, %24 ]
  %45 = call i32 @fclose(ptr noundef nonnull %22)
  br label %46

46:                                               ; preds = %20, %43
  %47 = phi i32 [ %44, %43 ], [ 5, %20 ]
  call void @llvm.lifetime.end.p0(ptr nonnull %3)
  br label %48

48:                                               ; preds = %12, %46, %8
  %49 = phi i32 [ %47, %46 ], [ 0, %12 ], [ 0, %8 ]
  %50 = call fastcc i32 @xonnc_give(ptr noundef %6, i32 noundef %49, ptr noundef %0)
  br label %51

51:                                               ; preds = %5, %2, %48
  %52 = phi i32 [ %50, %48 ], [ 3, %2 ], [ 4, %5 ]
  ret i32 %52
}

define internal fastcc noundef ptr @xonnc_new() unnamed_addr {
  %1 = load i64, ptr @xonnc_info, align 8
  %2 = load i64, ptr getelementptr inbounds nuw (i8, ptr @xonnc_info, i64 8), align 8
  %3 = shl nsw i64 %2, 1
  %4 = add nsw i64 %3, %1
  %5 = load i64, ptr getelementptr inbounds nuw (i8, ptr @xonnc_info, i64 48), align 8
  %6 = add nsw i64 %4, %5
  %7 = load i64, ptr getelementptr inbounds nuw (i8, ptr @xonnc_info, i64 64), align 8
  %8 = add nsw i64 %6, %7
  %9 = load i64, ptr getelementptr inbounds nuw (i8, ptr @xonnc_info, i64 56), align 8
  %10 = add nsw i64 %8, %9
  %11 = shl i64 %10, 3
  %12 = add i64 %11, 88
  %13 = icmp ugt i64 %12, -129
  br i1 %13, label %39, label %14

14:                                               ; preds = %0
  %15 = add i64 %11, 152
  %16 = tail call ptr @malloc(i64 noundef %15)
  %17 = icmp eq ptr %16, null
  br i1 %17, label %39, label %18

18:                                               ; preds = %14
  tail call void @llvm.memset.p0.i64(ptr nonnull align 8 %16, i8 0, i64 %12, i1 false)
  %19 = getelementptr i8, ptr %16, i64 88
  %20 = getelementptr inbounds nuw i8, ptr %16, i64 56
  store ptr %19, ptr %20, align 8
  %21 = getelementptr i64, ptr %19, i64 %5
  %22 = getelementptr inbounds nuw i8, ptr %16, i64 64
  store ptr %21, ptr %22, align 8
  %23 = getelementptr i64, ptr %21, i64 %7
  %24 = getelementptr inbounds nuw i8, ptr %16, i64 72
  store ptr %23, ptr %24, align 8
  %25 = getelementptr inbounds i64, ptr %23, i64 %9
  %26 = getelementptr inbounds nuw i8, ptr %16, i64 32
  store ptr %25, ptr %26, align 8
  %27 = getelementptr inbounds ptr, ptr %25, i64 %1
  %28 = getelementptr inbounds nuw i8, ptr %16, i64 40
  store ptr %27, ptr %28, align 8
  %29 = getelementptr inbounds ptr, ptr %27, i64 %2
  %30 = getelementptr inbounds nuw i8, ptr %16, i64 48
  store ptr %29, ptr %30, align 8
  %31 = icmp sgt i64 %5, 0
  br i1 %31, label %32, label %34

32:                                               ; preds = %18
  %33 = shl nuw i64 %5, 3
  tail call void @llvm.memcpy.p0.p0.i64(ptr align 8 %19, ptr nonnull align 8 @xonnc_shapes, i64 %33, i1 false)
  br label %34

34:                                               ; preds = %32, %18
  %35 = icmp sgt i64 %9, 0
  br i1 %35, label %36, label %39

36:                                               ; preds = %34
  %37 = getelementptr i64, ptr @xonnc_shapes, i64 %5
  %38 = shl nuw i64 %9, 3
  tail call void @llvm.memcpy.p0.p0.i64(ptr align 8 %23, ptr align 8 %37, i64 %38, i1 false)
  br label %39

39:                                               ; preds = %36, %34, %0, %14
  %40 = phi ptr [ null, %14 ], [ null, %0 ], [ %16, %34 ], [ %16, %36 ]
  ret ptr %40
}

define internal fastcc i32 @xonnc_give(ptr noundef nonnull %0, i32 noundef range(i32 0, 8) %1, ptr noundef nonnull writeonly captures(none) initializes((0, 8)) %2) unnamed_addr {
  %4 = icmp eq i32 %1, 0
  br i1 %4, label %5, label %11

5:                                                ; preds = %3
  %6 = load i64, ptr getelementptr inbounds nuw (i8, ptr @xonnc_info, i64 40), align 8
  %7 = icmp eq i64 %6, 0
  br i1 %7, label %8, label %13

8:                                                ; preds = %5
  %9 = tail call fastcc i32 @xonnc_place(ptr noundef %0)
  %10 = icmp eq i32 %9, 0
  br i1 %10, label %13, label %11

11:                                               ; preds = %3, %8
  %12 = phi i32 [ %9, %8 ], [ %1, %3 ]
  tail call fastcc void @xonnc_end(ptr noundef nonnull %0)
  br label %13

13:                                               ; preds = %5, %11, %8
  %14 = phi i32 [ %12, %11 ], [ 0, %8 ], [ 0, %5 ]
  %15 = phi ptr [ null, %11 ], [ %0, %8 ], [ %0, %5 ]
  store ptr %15, ptr %2, align 8
  ret i32 %14
}

define i32 @PREFIX_create_from(ptr noundef writeonly captures(address_is_null) %0, ptr noundef %1, i64 noundef %2) {
  %4 = icmp eq ptr %0, null
  br i1 %4, label %26, label %5

5:                                                ; preds = %3
  store ptr null, ptr %0, align 8
  %6 = icmp eq ptr %1, null
  %7 = icmp ult i64 %2, 64
  %8 = or i1 %6, %7
  br i1 %8, label %26, label %9

9:                                                ; preds = %5
  %10 = tail call fastcc i32 @xonnc_is_weight_header(ptr noundef %1)
  %11 = icmp eq i32 %10, 0
  br i1 %11, label %26, label %12

12:                                               ; preds = %9
  %13 = add i64 %2, -64
  %14 = load i64, ptr getelementptr inbounds nuw (i8, ptr @xonnc_info, i64 16), align 8
  %15 = icmp eq i64 %13, %14
  br i1 %15, label %16, label %26

16:                                               ; preds = %12
  %17 = ptrtoint ptr %1 to i64
  %18 = and i64 %17, 63
  %19 = icmp eq i64 %18, 0
  br i1 %19, label %20, label %26

20:                                               ; preds = %16
  %21 = tail call fastcc ptr @xonnc_new()
  %22 = icmp eq ptr %21, null
  br i1 %22, label %26, label %23

23:                                               ; preds = %20
  %24 = getelementptr inbounds nuw i8, ptr %1, i64 64
  store ptr %24, ptr %21, align 8
  %25 = tail call fastcc i32 @xonnc_give(ptr noundef %21, i32 noundef 0, ptr noundef %0)
  br label %26

26:                                               ; preds = %20, %16, %12, %5, %9, %3, %23
  %27 = phi i32 [ %25, %23 ], [ 3, %3 ], [ 6, %5 ], [ 7, %12 ], [ 8, %16 ], [ 6, %9 ], [ 4, %20 ]
  ret i32 %27
}

define internal fastcc range(i32 0, 2) i32 @xonnc_is_weight_header(ptr noundef nonnull %0) unnamed_addr {
  br label %2

2:                                                ; preds = %1, %2
  %3 = phi i64 [ 7, %1 ], [ %17, %2 ]
  %4 = phi i64 [ 0, %1 ], [ %16, %2 ]
  %5 = phi i64 [ 0, %1 ], [ %11, %2 ]
  %6 = shl i64 %5, 8
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 %3
  %8 = getelementptr inbounds nuw i8, ptr %7, i64 16
  %9 = load i8, ptr %8, align 1
  %10 = zext i8 %9 to i64
  %11 = or disjoint i64 %6, %10
  %12 = shl i64 %4, 8
  %13 = getelementptr inbounds nuw i8, ptr %7, i64 24
  %14 = load i8, ptr %13, align 1
  %15 = zext i8 %14 to i64
  %16 = or disjoint i64 %12, %15
  %17 = add nsw i64 %3, -1
  %18 = icmp eq i64 %3, 0
  br i1 %18, label %19, label %2

19:                                               ; preds = %2
  %20 = tail call i32 @memcmp(ptr noundef nonnull %0, ptr noundef nonnull @xonnc_api_text.2, i64 noundef 16)
  %21 = icmp eq i32 %20, 0
  br i1 %21, label %22, label %29

22:                                               ; preds = %19
  %23 = load i64, ptr getelementptr inbounds nuw (i8, ptr @xonnc_info, i64 16), align 8
  %24 = icmp eq i64 %11, %23
  br i1 %24, label %25, label %29

25:                                               ; preds = %22
  %26 = load i64, ptr getelementptr inbounds nuw (i8, ptr @xonnc_info, i64 24), align 8
  %27 = icmp eq i64 %16, %26
  %28 = zext i1 %27 to i32
  br label %29

29:                                               ; preds = %25, %22, %19
  %30 = phi i32 [ 0, %22 ], [ 0, %19 ], [ %28, %25 ]
  ret i32 %30
}

define void @PREFIX_destroy(ptr noundef captures(address_is_null) %0) {
  tail call fastcc void @xonnc_end(ptr noundef %0)
  ret void
}

define internal fastcc void @xonnc_end(ptr noundef captures(address_is_null) %0) unnamed_addr {
  %2 = icmp eq ptr %0, null
  br i1 %2, label %20, label %3

3:                                                ; preds = %1
  %4 = load i64, ptr getelementptr inbounds nuw (i8, ptr @xonnc_info, i64 8), align 8
  %5 = icmp sgt i64 %4, 0
  br i1 %5, label %6, label %15

6:                                                ; preds = %3
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 48
  br label %8

8:                                                ; preds = %6, %8
  %9 = phi i64 [ 0, %6 ], [ %13, %8 ]
  %10 = load ptr, ptr %7, align 8
  %11 = getelementptr inbounds nuw ptr, ptr %10, i64 %9
  %12 = load ptr, ptr %11, align 8
  tail call void @free(ptr noundef %12)
  %13 = add nuw nsw i64 %9, 1
  %14 = icmp eq i64 %13, %4
  br i1 %14, label %15, label %8

15:                                               ; preds = %8, %3
  %16 = getelementptr inbounds nuw i8, ptr %0, i64 24
  %17 = load ptr, ptr %16, align 8
  tail call void @free(ptr noundef %17)
  %18 = getelementptr inbounds nuw i8, ptr %0, i64 16
  %19 = load ptr, ptr %18, align 8
  tail call void @free(ptr noundef %19)
  tail call void @free(ptr noundef nonnull %0)
  br label %20

20:                                               ; preds = %1, %15
  ret void
}

define range(i32 0, 11) i32 @PREFIX_set_shape(ptr noundef captures(address_is_null) %0, i32 noundef %1, ptr noundef readonly captures(address_is_null) %2, i32 noundef %3) {
  %5 = icmp eq ptr %0, null
  br i1 %5, label %63, label %6

6:                                                ; preds = %4
  %7 = icmp sgt i32 %1, -1
  br i1 %7, label %8, label %63

8:                                                ; preds = %6
  %9 = zext nneg i32 %1 to i64
  %10 = load i64, ptr @xonnc_info, align 8
  %11 = icmp sgt i64 %10, %9
  br i1 %11, label %12, label %63

12:                                               ; preds = %8
  %13 = shl nsw i32 %1, 2
  %14 = zext nneg i32 %13 to i64
  %15 = getelementptr inbounds nuw i64, ptr @xonnc_ports, i64 %14
  %16 = getelementptr inbounds nuw i8, ptr %15, i64 8
  %17 = load i64, ptr %16, align 8
  %18 = getelementptr inbounds i64, ptr @xonnc_shapes, i64 %17
  %19 = sext i32 %3 to i64
  %20 = load i64, ptr %15, align 8
  %21 = icmp eq i64 %20, %19
  br i1 %21, label %22, label %63

22:                                               ; preds = %12
  %23 = icmp sgt i32 %3, 0
  %24 = icmp eq ptr %2, null
  %25 = and i1 %24, %23
  br i1 %25, label %63, label %26

26:                                               ; preds = %22
  br i1 %23, label %27, label %55

27:                                               ; preds = %26
  %28 = zext nneg i32 %3 to i64
  br label %37

29:                                               ; preds = %42
  %30 = add nuw nsw i64 %38, 1
  %31 = icmp eq i64 %30, %28
  br i1 %31, label %32, label %37

32:                                               ; preds = %29
  %33 = getelementptr inbounds nuw i8, ptr %0, i64 56
  %34 = load ptr, ptr %33, align 8
  %35 = getelementptr i64, ptr %34, i64 %17
  %36 = zext nneg i32 %3 to i64
  br label %48

37:                                               ; preds = %27, %29
  %38 = phi i64 [ 0, %27 ], [ %30, %29 ]
  %39 = getelementptr inbounds nuw i64, ptr %2, i64 %38
  %40 = load i64, ptr %39, align 8
  %41 = icmp slt i64 %40, 0
  br i1 %41, label %63, label %42

42:                                               ; preds = %37
  %43 = getelementptr inbounds nuw i64, ptr %18, i64 %38
  %44 = load i64, ptr %43, align 8
  %45 = icmp slt i64 %44, 0
  %46 = icmp eq i64 %40, %44
  %47 = or i1 %45, %46
  br i1 %47, label %29, label %63

48:                                               ; preds = %32, %48
  %49 = phi i64 [ 0, %32 ], [ %53, %48 ]
  %50 = getelementptr inbounds nuw i64, ptr %2, i64 %49
  %51 = load i64, ptr %50, align 8
  %52 = getelementptr i64, ptr %35, i64 %49
  store i64 %51, ptr %52, align 8
  %53 = add nuw nsw i64 %49, 1
  %54 = icmp eq i64 %53, %36
  br i1 %54, label %55, label %48

55:                                               ; preds = %48, %26
  %56 = getelementptr inbounds nuw i8, ptr %0, i64 32
  %57 = load ptr, ptr %56, align 8
  %58 = getelementptr inbounds nuw ptr, ptr %57, i64 %9
  store ptr null, ptr %58, align 8
  %59 = load i64, ptr getelementptr inbounds nuw (i8, ptr @xonnc_info, i64 40), align 8
  %60 = icmp eq i64 %59, 0
  br i1 %60, label %63, label %61

61:                                               ; preds = %55
  %62 = getelementptr inbounds nuw i8, ptr %0, i64 80
  store i32 0, ptr %62, align 8
  br label %63

63:                                               ; preds = %37, %42, %6, %55, %61, %12, %22, %8, %4
  %64 = phi i32 [ 3, %4 ], [ 1, %8 ], [ 10, %12 ], [ 0, %55 ], [ 10, %22 ], [ 1, %6 ], [ 0, %61 ], [ 10, %42 ], [ 10, %37 ]
  ret i32 %64
}

define range(i32 0, 16) i32 @PREFIX_set_input(ptr noundef readonly captures(address_is_null) %0, i32 noundef %1, ptr noundef %2, i64 noundef %3) {
  %5 = icmp eq ptr %0, null
  br i1 %5, label %59, label %6

6:                                                ; preds = %4
  %7 = icmp sgt i32 %1, -1
  br i1 %7, label %8, label %59

8:                                                ; preds = %6
  %9 = zext nneg i32 %1 to i64
  %10 = load i64, ptr @xonnc_info, align 8
  %11 = icmp sgt i64 %10, %9
  br i1 %11, label %12, label %59

12:                                               ; preds = %8
  %13 = shl nsw i32 %1, 2
  %14 = zext nneg i32 %13 to i64
  %15 = getelementptr inbounds nuw i64, ptr @xonnc_ports, i64 %14
  %16 = getelementptr inbounds nuw i8, ptr %15, i64 24
  %17 = load i64, ptr %16, align 8
  %18 = load i64, ptr %15, align 8
  %19 = icmp sgt i64 %18, 0
  br i1 %19, label %20, label %50

20:                                               ; preds = %12
  %21 = getelementptr inbounds nuw i8, ptr %0, i64 56
  %22 = load ptr, ptr %21, align 8
  %23 = getelementptr inbounds nuw i8, ptr %15, i64 8
  %24 = load i64, ptr %23, align 8
  %25 = getelementptr i64, ptr %22, i64 %24
  br label %26

26:                                               ; preds = %46, %20
  %27 = phi i64 [ %47, %46 ], [ 0, %20 ]
  %28 = phi i64 [ 0, %46 ], [ %17, %20 ]
  %29 = phi i1 [ false, %46 ], [ true, %20 ]
  br label %30

30:                                               ; preds = %26, %42
  %31 = phi i64 [ %44, %42 ], [ %27, %26 ]
  %32 = phi i64 [ %43, %42 ], [ %28, %26 ]
  %33 = getelementptr i64, ptr %25, i64 %31
  %34 = load i64, ptr %33, align 8
  %35 = icmp sgt i64 %34, -1
  br i1 %35, label %36, label %59

36:                                               ; preds = %30
  %37 = icmp eq i64 %34, 0
  br i1 %37, label %42, label %38

38:                                               ; preds = %36
  %39 = tail call i64 @llvm.abs.i64(i64 %32, i1 true)
  %40 = udiv i64 140737488355328, %34
  %41 = icmp samesign ugt i64 %39, %40
  br i1 %41, label %46, label %42

42:                                               ; preds = %36, %38
  %43 = mul nsw i64 %34, %32
  %44 = add nuw nsw i64 %31, 1
  %45 = icmp eq i64 %44, %18
  br i1 %45, label %49, label %30

46:                                               ; preds = %38
  %47 = add nuw nsw i64 %31, 1
  %48 = icmp eq i64 %47, %18
  br i1 %48, label %59, label %26

49:                                               ; preds = %42
  br i1 %29, label %50, label %59

50:                                               ; preds = %12, %49
  %51 = phi i64 [ %43, %49 ], [ %17, %12 ]
  %52 = icmp ne ptr %2, null
  %53 = icmp eq i64 %3, %51
  %54 = select i1 %52, i1 %53, i1 false
  br i1 %54, label %55, label %59

55:                                               ; preds = %50
  %56 = getelementptr inbounds nuw i8, ptr %0, i64 32
  %57 = load ptr, ptr %56, align 8
  %58 = getelementptr inbounds nuw ptr, ptr %57, i64 %9
  store ptr %2, ptr %58, align 8
  br label %59

59:                                               ; preds = %46, %30, %6, %50, %49, %8, %4, %55
  %60 = phi i32 [ 3, %4 ], [ 1, %6 ], [ 11, %50 ], [ 15, %49 ], [ 0, %55 ], [ 1, %8 ], [ 9, %30 ], [ 15, %46 ]
  ret i32 %60
}

define i32 @PREFIX_set_output(ptr noundef captures(address_is_null) %0, i32 noundef %1, ptr noundef %2, i64 noundef %3) {
  %5 = icmp eq ptr %0, null
  br i1 %5, label %40, label %6

6:                                                ; preds = %4
  %7 = icmp sgt i32 %1, -1
  br i1 %7, label %8, label %40

8:                                                ; preds = %6
  %9 = zext nneg i32 %1 to i64
  %10 = load i64, ptr getelementptr inbounds nuw (i8, ptr @xonnc_info, i64 8), align 8
  %11 = icmp sgt i64 %10, %9
  br i1 %11, label %12, label %40

12:                                               ; preds = %8
  %13 = tail call fastcc i32 @xonnc_place(ptr noundef %0)
  %14 = icmp eq i32 %13, 0
  br i1 %14, label %15, label %40

15:                                               ; preds = %12
  %16 = icmp eq ptr %2, null
  br i1 %16, label %40, label %17

17:                                               ; preds = %15
  %18 = load i64, ptr getelementptr inbounds nuw (i8, ptr @xonnc_info, i64 40), align 8
  %19 = icmp eq i64 %18, 0
  br i1 %19, label %26, label %20

20:                                               ; preds = %17
  %21 = getelementptr inbounds nuw i8, ptr %0, i64 64
  %22 = load ptr, ptr %21, align 8
  %23 = load i64, ptr getelementptr inbounds nuw (i8, ptr @xonnc_info, i64 80), align 8
  %24 = getelementptr i64, ptr %22, i64 %23
  %25 = getelementptr i64, ptr %24, i64 %9
  br label %32

26:                                               ; preds = %17
  %27 = load i64, ptr @xonnc_info, align 8
  %28 = add nsw i64 %27, %9
  %29 = shl nsw i64 %28, 5
  %30 = getelementptr inbounds i8, ptr @xonnc_ports, i64 %29
  %31 = getelementptr inbounds nuw i8, ptr %30, i64 16
  br label %32

32:                                               ; preds = %20, %26
  %33 = phi ptr [ %25, %20 ], [ %31, %26 ]
  %34 = load i64, ptr %33, align 8
  %35 = icmp eq i64 %3, %34
  br i1 %35, label %36, label %40

36:                                               ; preds = %32
  %37 = getelementptr inbounds nuw i8, ptr %0, i64 40
  %38 = load ptr, ptr %37, align 8
  %39 = getelementptr inbounds nuw ptr, ptr %38, i64 %9
  store ptr %2, ptr %39, align 8
  br label %40

40:                                               ; preds = %6, %15, %32, %12, %8, %4, %36
  %41 = phi i32 [ 3, %4 ], [ 2, %8 ], [ %13, %12 ], [ 0, %36 ], [ 11, %32 ], [ 11, %15 ], [ 2, %6 ]
  ret i32 %41
}

define internal fastcc i32 @xonnc_place(ptr noundef nonnull captures(none) %0) unnamed_addr {
  %2 = getelementptr inbounds nuw i8, ptr %0, i64 80
  %3 = load i32, ptr %2, align 8
  %4 = icmp eq i32 %3, 0
  br i1 %4, label %5, label %234

5:                                                ; preds = %1
  %6 = load i64, ptr getelementptr inbounds nuw (i8, ptr @xonnc_info, i64 40), align 8
  %7 = icmp eq i64 %6, 0
  br i1 %7, label %168, label %8

8:                                                ; preds = %5
  %9 = getelementptr inbounds nuw i8, ptr %0, i64 56
  %10 = load ptr, ptr %9, align 8
  %11 = getelementptr inbounds nuw i8, ptr %0, i64 64
  %12 = load ptr, ptr %11, align 8
  %13 = getelementptr inbounds nuw i8, ptr %0, i64 72
  %14 = load ptr, ptr %13, align 8
  %15 = load i64, ptr getelementptr inbounds nuw (i8, ptr @xonnc_info, i64 48), align 8
  %16 = icmp sgt i64 %15, 0
  br i1 %16, label %23, label %20

17:                                               ; preds = %28
  %18 = add nuw nsw i64 %24, 1
  %19 = icmp eq i64 %18, %15
  br i1 %19, label %20, label %23

20:                                               ; preds = %17, %8
  %21 = load i64, ptr getelementptr inbounds nuw (i8, ptr @xonnc_info, i64 88), align 8
  %22 = icmp sgt i64 %21, 0
  br i1 %22, label %30, label %165

23:                                               ; preds = %8, %17
  %24 = phi i64 [ %18, %17 ], [ 0, %8 ]
  %25 = getelementptr inbounds nuw i64, ptr %10, i64 %24
  %26 = load i64, ptr %25, align 8
  %27 = icmp slt i64 %26, 0
  br i1 %27, label %234, label %28

28:                                               ; preds = %23
  %29 = icmp samesign ugt i64 %26, 140737488355328
  br i1 %29, label %234, label %17

30:                                               ; preds = %20, %156
  %31 = phi i64 [ %160, %156 ], [ 0, %20 ]
  %32 = phi i64 [ %157, %156 ], [ 0, %20 ]
  %33 = phi i64 [ %158, %156 ], [ 0, %20 ]
  %34 = phi i64 [ %159, %156 ], [ 0, %20 ]
  %35 = shl nsw i64 %31, 5
  %36 = getelementptr inbounds nuw i8, ptr @xonnc_plan, i64 %35
  %37 = load i64, ptr %36, align 8
  %38 = getelementptr inbounds nuw i8, ptr %36, i64 8
  %39 = load i64, ptr %38, align 8
  %40 = getelementptr inbounds nuw i8, ptr %36, i64 16
  %41 = load i64, ptr %40, align 8
  %42 = getelementptr inbounds nuw i8, ptr %36, i64 24
  %43 = load i64, ptr %42, align 8
  switch i64 %37, label %144 [
    i64 0, label %44
    i64 1, label %48
    i64 2, label %146
    i64 3, label %50
    i64 4, label %66
    i64 5, label %76
    i64 6, label %83
    i64 7, label %90
    i64 8, label %96
    i64 9, label %100
    i64 10, label %156
    i64 11, label %102
    i64 12, label %113
    i64 13, label %124
    i64 14, label %126
    i64 15, label %132
    i64 16, label %134
    i64 17, label %136
    i64 18, label %140
  ]

44:                                               ; preds = %30
  %45 = getelementptr inbounds i64, ptr %10, i64 %41
  %46 = load i64, ptr %45, align 8
  %47 = getelementptr inbounds i64, ptr %12, i64 %39
  store i64 %46, ptr %47, align 8
  br label %156

48:                                               ; preds = %30
  %49 = getelementptr inbounds i64, ptr %12, i64 %39
  store i64 %41, ptr %49, align 8
  br label %156

50:                                               ; preds = %30
  %51 = getelementptr inbounds i64, ptr %12, i64 %41
  %52 = load i64, ptr %51, align 8
  %53 = getelementptr inbounds i64, ptr %12, i64 %43
  %54 = load i64, ptr %53, align 8
  %55 = icmp eq i64 %54, 0
  br i1 %55, label %61, label %56

56:                                               ; preds = %50
  %57 = tail call i64 @llvm.abs.i64(i64 %54, i1 true)
  %58 = tail call i64 @llvm.abs.i64(i64 %52, i1 true)
  %59 = udiv i64 140737488355328, %57
  %60 = icmp samesign ugt i64 %58, %59
  br i1 %60, label %64, label %61

61:                                               ; preds = %56, %50
  %62 = mul nsw i64 %54, %52
  %63 = getelementptr inbounds i64, ptr %12, i64 %39
  store i64 %62, ptr %63, align 8
  br label %156

64:                                               ; preds = %56
  %65 = getelementptr inbounds i64, ptr %12, i64 %39
  store i64 0, ptr %65, align 8
  br label %234

66:                                               ; preds = %30
  %67 = getelementptr inbounds i64, ptr %12, i64 %41
  %68 = load i64, ptr %67, align 8
  %69 = getelementptr inbounds i64, ptr %12, i64 %43
  %70 = load i64, ptr %69, align 8
  %71 = sdiv i64 %68, %70
  %72 = srem i64 %68, %70
  %73 = ashr i64 %72, 63
  %74 = add i64 %73, %71
  %75 = getelementptr inbounds i64, ptr %12, i64 %39
  store i64 %74, ptr %75, align 8
  br label %156

76:                                               ; preds = %30
  %77 = getelementptr inbounds i64, ptr %12, i64 %41
  %78 = load i64, ptr %77, align 8
  %79 = getelementptr inbounds i64, ptr %12, i64 %43
  %80 = load i64, ptr %79, align 8
  %81 = tail call i64 @llvm.smin.i64(i64 %78, i64 %80)
  %82 = getelementptr inbounds i64, ptr %12, i64 %39
  store i64 %81, ptr %82, align 8
  br label %156

83:                                               ; preds = %30
  %84 = getelementptr inbounds i64, ptr %12, i64 %41
  %85 = load i64, ptr %84, align 8
  %86 = getelementptr inbounds i64, ptr %12, i64 %43
  %87 = load i64, ptr %86, align 8
  %88 = tail call i64 @llvm.smax.i64(i64 %85, i64 %87)
  %89 = getelementptr inbounds i64, ptr %12, i64 %39
  store i64 %88, ptr %89, align 8
  br label %156

90:                                               ; preds = %30
  %91 = getelementptr inbounds i64, ptr %12, i64 %41
  %92 = load i64, ptr %91, align 8
  %93 = getelementptr inbounds i64, ptr %12, i64 %43
  %94 = load i64, ptr %93, align 8
  %95 = icmp eq i64 %92, %94
  br i1 %95, label %156, label %162

96:                                               ; preds = %30
  %97 = getelementptr inbounds i64, ptr %12, i64 %41
  %98 = load i64, ptr %97, align 8
  %99 = icmp slt i64 %98, 0
  br i1 %99, label %234, label %156

100:                                              ; preds = %30
  %101 = getelementptr inbounds i64, ptr %12, i64 %39
  store i64 %32, ptr %101, align 8
  br label %156

102:                                              ; preds = %30
  %103 = getelementptr inbounds i64, ptr %12, i64 %41
  %104 = load i64, ptr %103, align 8
  %105 = icmp eq i64 %104, 0
  br i1 %105, label %111, label %106

106:                                              ; preds = %102
  %107 = tail call i64 @llvm.abs.i64(i64 %104, i1 true)
  %108 = tail call i64 @llvm.abs.i64(i64 %34, i1 true)
  %109 = udiv i64 140737488355328, %107
  %110 = icmp samesign ugt i64 %108, %109
  br i1 %110, label %234, label %111

111:                                              ; preds = %106, %102
  %112 = mul nsw i64 %104, %34
  br label %156

113:                                              ; preds = %30
  %114 = getelementptr inbounds i64, ptr %10, i64 %41
  %115 = load i64, ptr %114, align 8
  %116 = icmp eq i64 %115, 0
  br i1 %116, label %122, label %117

117:                                              ; preds = %113
  %118 = tail call i64 @llvm.abs.i64(i64 %115, i1 true)
  %119 = tail call i64 @llvm.abs.i64(i64 %34, i1 true)
  %120 = udiv i64 140737488355328, %118
  %121 = icmp samesign ugt i64 %119, %120
  br i1 %121, label %234, label %122

122:                                              ; preds = %117, %113
  %123 = mul nsw i64 %115, %34
  br label %156

124:                                              ; preds = %30
  %125 = tail call i64 @llvm.smax.i64(i64 %34, i64 %33)
  br label %156

126:                                              ; preds = %30
  %127 = add nuw nsw i64 %33, 63
  %128 = and i64 %127, -64
  %129 = add nsw i64 %128, %32
  %130 = add i64 %129, -140737488355329
  %131 = icmp ult i64 %130, -281474976710657
  br i1 %131, label %234, label %156

132:                                              ; preds = %30
  %133 = getelementptr inbounds i64, ptr %12, i64 %39
  store i64 %32, ptr %133, align 8
  br label %156

134:                                              ; preds = %30
  %135 = getelementptr inbounds i64, ptr %12, i64 %39
  store i64 %34, ptr %135, align 8
  br label %156

136:                                              ; preds = %30
  %137 = getelementptr inbounds i64, ptr %12, i64 %41
  %138 = load i64, ptr %137, align 8
  %139 = getelementptr inbounds i64, ptr %14, i64 %39
  store i64 %138, ptr %139, align 8
  br label %156

140:                                              ; preds = %30
  %141 = getelementptr inbounds i64, ptr %10, i64 %41
  %142 = load i64, ptr %141, align 8
  %143 = getelementptr inbounds i64, ptr %14, i64 %39
  store i64 %142, ptr %143, align 8
  br label %156

144:                                              ; preds = %30
  %145 = getelementptr inbounds i64, ptr %14, i64 %39
  store i64 %41, ptr %145, align 8
  br label %156

146:                                              ; preds = %30
  %147 = getelementptr inbounds i64, ptr %12, i64 %41
  %148 = load i64, ptr %147, align 8
  %149 = getelementptr inbounds i64, ptr %12, i64 %43
  %150 = load i64, ptr %149, align 8
  %151 = add nsw i64 %150, %148
  %152 = add i64 %151, 140737488355328
  %153 = icmp ult i64 %152, 281474976710657
  %154 = select i1 %153, i64 %151, i64 0
  %155 = getelementptr inbounds i64, ptr %12, i64 %39
  store i64 %154, ptr %155, align 8
  br i1 %153, label %156, label %234

156:                                              ; preds = %146, %144, %140, %136, %134, %132, %126, %124, %122, %111, %100, %96, %90, %83, %76, %66, %61, %48, %44, %30
  %157 = phi i64 [ %32, %146 ], [ %129, %126 ], [ %32, %122 ], [ %32, %111 ], [ %32, %134 ], [ %32, %132 ], [ %32, %124 ], [ %32, %30 ], [ %32, %136 ], [ %32, %140 ], [ %32, %100 ], [ %32, %96 ], [ %32, %90 ], [ %32, %83 ], [ %32, %76 ], [ %32, %66 ], [ %32, %48 ], [ %32, %44 ], [ %32, %144 ], [ %32, %61 ]
  %158 = phi i64 [ %33, %146 ], [ %33, %126 ], [ %33, %122 ], [ %33, %111 ], [ %33, %134 ], [ %33, %132 ], [ %125, %124 ], [ %33, %30 ], [ %33, %136 ], [ %33, %140 ], [ 0, %100 ], [ %33, %96 ], [ %33, %90 ], [ %33, %83 ], [ %33, %76 ], [ %33, %66 ], [ %33, %48 ], [ %33, %44 ], [ %33, %144 ], [ %33, %61 ]
  %159 = phi i64 [ %34, %146 ], [ %34, %126 ], [ %123, %122 ], [ %112, %111 ], [ %34, %134 ], [ %34, %132 ], [ %34, %124 ], [ %41, %30 ], [ %34, %136 ], [ %34, %140 ], [ %34, %100 ], [ %34, %96 ], [ %34, %90 ], [ %34, %83 ], [ %34, %76 ], [ %34, %66 ], [ %34, %48 ], [ %34, %44 ], [ %34, %144 ], [ %34, %61 ]
  %160 = add nuw nsw i64 %31, 1
  %161 = icmp eq i64 %160, %21
  br i1 %161, label %165, label %30

162:                                              ; preds = %90
  %163 = trunc i64 %39 to i32
  %164 = icmp eq i32 %163, 0
  br i1 %164, label %165, label %234

165:                                              ; preds = %156, %20, %162
  %166 = load i64, ptr getelementptr inbounds nuw (i8, ptr @xonnc_info, i64 72), align 8
  %167 = getelementptr inbounds i64, ptr %12, i64 %166
  br label %168

168:                                              ; preds = %165, %5
  %169 = phi ptr [ %167, %165 ], [ getelementptr inbounds nuw (i8, ptr @xonnc_info, i64 32), %5 ]
  %170 = load i64, ptr %169, align 8
  %171 = getelementptr inbounds nuw i8, ptr %0, i64 24
  %172 = load ptr, ptr %171, align 8
  tail call void @free(ptr noundef %172)
  %173 = icmp ugt i64 %170, -129
  br i1 %173, label %174, label %175

174:                                              ; preds = %168
  store ptr null, ptr %171, align 8
  br label %234

175:                                              ; preds = %168
  %176 = add nuw i64 %170, 64
  %177 = tail call ptr @malloc(i64 noundef %176)
  store ptr %177, ptr %171, align 8
  %178 = icmp eq ptr %177, null
  br i1 %178, label %234, label %179

179:                                              ; preds = %175
  %180 = ptrtoint ptr %177 to i64
  %181 = and i64 %180, 63
  %182 = sub nuw nsw i64 64, %181
  %183 = getelementptr inbounds nuw i8, ptr %177, i64 %182
  %184 = getelementptr inbounds nuw i8, ptr %0, i64 8
  store ptr %183, ptr %184, align 8
  %185 = load i64, ptr getelementptr inbounds nuw (i8, ptr @xonnc_info, i64 8), align 8
  %186 = icmp sgt i64 %185, 0
  br i1 %186, label %187, label %233

187:                                              ; preds = %179
  %188 = getelementptr inbounds nuw i8, ptr %0, i64 48
  %189 = getelementptr inbounds nuw i8, ptr %0, i64 40
  %190 = getelementptr inbounds nuw i8, ptr %0, i64 64
  br label %191

191:                                              ; preds = %187, %224
  %192 = phi i64 [ 0, %187 ], [ %231, %224 ]
  %193 = load ptr, ptr %188, align 8
  %194 = getelementptr inbounds nuw ptr, ptr %193, i64 %192
  %195 = load ptr, ptr %194, align 8
  tail call void @free(ptr noundef %195)
  %196 = load ptr, ptr %189, align 8
  %197 = getelementptr inbounds nuw ptr, ptr %196, i64 %192
  store ptr null, ptr %197, align 8
  br i1 %7, label %203, label %198

198:                                              ; preds = %191
  %199 = load ptr, ptr %190, align 8
  %200 = load i64, ptr getelementptr inbounds nuw (i8, ptr @xonnc_info, i64 80), align 8
  %201 = getelementptr i64, ptr %199, i64 %200
  %202 = getelementptr i64, ptr %201, i64 %192
  br label %209

203:                                              ; preds = %191
  %204 = load i64, ptr @xonnc_info, align 8
  %205 = add nsw i64 %204, %192
  %206 = shl nsw i64 %205, 5
  %207 = getelementptr inbounds i8, ptr @xonnc_ports, i64 %206
  %208 = getelementptr inbounds nuw i8, ptr %207, i64 16
  br label %209

209:                                              ; preds = %198, %203
  %210 = phi ptr [ %202, %198 ], [ %208, %203 ]
  %211 = load i64, ptr %210, align 8
  %212 = icmp ugt i64 %211, -129
  br i1 %212, label %216, label %213

213:                                              ; preds = %209
  %214 = add nuw i64 %211, 64
  %215 = tail call ptr @malloc(i64 noundef %214)
  br label %216

216:                                              ; preds = %209, %213
  %217 = phi ptr [ %215, %213 ], [ null, %209 ]
  %218 = load ptr, ptr %188, align 8
  %219 = getelementptr inbounds nuw ptr, ptr %218, i64 %192
  store ptr %217, ptr %219, align 8
  %220 = load ptr, ptr %188, align 8
  %221 = getelementptr inbounds nuw ptr, ptr %220, i64 %192
  %222 = load ptr, ptr %221, align 8
  %223 = icmp eq ptr %222, null
  br i1 %223, label %234, label %224

224:                                              ; preds = %216
  %225 = ptrtoint ptr %222 to i64
  %226 = and i64 %225, 63
  %227 = sub nuw nsw i64 64, %226
  %228 = getelementptr inbounds nuw i8, ptr %222, i64 %227
  %229 = load ptr, ptr %189, align 8
  %230 = getelementptr inbounds nuw ptr, ptr %229, i64 %192
  store ptr %228, ptr %230, align 8
  %231 = add nuw nsw i64 %192, 1
  %232 = icmp eq i64 %231, %185
  br i1 %232, label %233, label %191

233:                                              ; preds = %224, %179
  store i32 1, ptr %2, align 8
  br label %234

234:                                              ; preds = %28, %23, %96, %117, %106, %126, %146, %216, %64, %174, %175, %162, %1, %233
  %235 = phi i32 [ 0, %233 ], [ 0, %1 ], [ %163, %162 ], [ 4, %175 ], [ 15, %64 ], [ 4, %174 ], [ 14, %96 ], [ 4, %216 ], [ 15, %146 ], [ 15, %126 ], [ 15, %106 ], [ 15, %117 ], [ 9, %23 ], [ 15, %28 ]
  ret i32 %235
}

define i32 @PREFIX_run(ptr noundef captures(address_is_null) %0) {
  %2 = icmp eq ptr %0, null
  br i1 %2, label %48, label %3

3:                                                ; preds = %1
  %4 = tail call fastcc i32 @xonnc_place(ptr noundef %0)
  %5 = icmp eq i32 %4, 0
  br i1 %5, label %6, label %48

6:                                                ; preds = %3
  %7 = load i64, ptr @xonnc_info, align 8
  %8 = icmp sgt i64 %7, 0
  br i1 %8, label %9, label %15

9:                                                ; preds = %6
  %10 = getelementptr inbounds nuw i8, ptr %0, i64 32
  %11 = load ptr, ptr %10, align 8
  br label %20

12:                                               ; preds = %20
  %13 = add nuw nsw i64 %21, 1
  %14 = icmp eq i64 %13, %7
  br i1 %14, label %15, label %20

15:                                               ; preds = %12, %6
  %16 = load i64, ptr getelementptr inbounds nuw (i8, ptr @xonnc_info, i64 8), align 8
  %17 = icmp sgt i64 %16, 0
  %18 = getelementptr inbounds nuw i8, ptr %0, i64 40
  %19 = load ptr, ptr %18, align 8
  br i1 %17, label %28, label %33

20:                                               ; preds = %9, %12
  %21 = phi i64 [ 0, %9 ], [ %13, %12 ]
  %22 = getelementptr inbounds nuw ptr, ptr %11, i64 %21
  %23 = load ptr, ptr %22, align 8
  %24 = icmp eq ptr %23, null
  br i1 %24, label %48, label %12

25:                                               ; preds = %28
  %26 = add nuw nsw i64 %29, 1
  %27 = icmp eq i64 %26, %16
  br i1 %27, label %33, label %28

28:                                               ; preds = %15, %25
  %29 = phi i64 [ %26, %25 ], [ 0, %15 ]
  %30 = getelementptr inbounds nuw ptr, ptr %19, i64 %29
  %31 = load ptr, ptr %30, align 8
  %32 = icmp eq ptr %31, null
  br i1 %32, label %48, label %25

33:                                               ; preds = %25, %15
  %34 = load ptr, ptr %0, align 8
  %35 = getelementptr inbounds nuw i8, ptr %0, i64 8
  %36 = load ptr, ptr %35, align 8
  %37 = getelementptr inbounds nuw i8, ptr %0, i64 32
  %38 = load ptr, ptr %37, align 8
  %39 = getelementptr inbounds nuw i8, ptr %0, i64 64
  %40 = load ptr, ptr %39, align 8
  %41 = tail call i32 @xonnc_main(ptr noundef %34, ptr noundef %36, ptr noundef %38, ptr noundef %19, ptr noundef %40)
  %42 = icmp eq i32 %41, 0
  br i1 %42, label %48, label %43

43:                                               ; preds = %33
  %44 = load i64, ptr getelementptr inbounds nuw (i8, ptr @xonnc_info, i64 96), align 8
  %45 = trunc i64 %44 to i32
  %46 = add i32 %41, -1
  %47 = add i32 %46, %45
  br label %48

48:                                               ; preds = %20, %28, %43, %33, %3, %1
  %49 = phi i32 [ 0, %33 ], [ 3, %1 ], [ %4, %3 ], [ 13, %28 ], [ %47, %43 ], [ 12, %20 ]
  ret i32 %49
}

define ptr @PREFIX_get_output(ptr noundef readonly captures(address_is_null) %0, i32 noundef %1) {
  %3 = icmp ne ptr %0, null
  %4 = icmp sgt i32 %1, -1
  %5 = and i1 %3, %4
  br i1 %5, label %6, label %15

6:                                                ; preds = %2
  %7 = zext nneg i32 %1 to i64
  %8 = load i64, ptr getelementptr inbounds nuw (i8, ptr @xonnc_info, i64 8), align 8
  %9 = icmp sgt i64 %8, %7
  br i1 %9, label %10, label %15

10:                                               ; preds = %6
  %11 = getelementptr inbounds nuw i8, ptr %0, i64 40
  %12 = load ptr, ptr %11, align 8
  %13 = getelementptr inbounds nuw ptr, ptr %12, i64 %7
  %14 = load ptr, ptr %13, align 8
  br label %15

15:                                               ; preds = %2, %6, %10
  %16 = phi ptr [ %14, %10 ], [ null, %6 ], [ null, %2 ]
  ret ptr %16
}

define ptr @PREFIX_get_output_shape(ptr noundef captures(address_is_null) %0, i32 noundef %1) {
  %3 = icmp ne ptr %0, null
  %4 = icmp sgt i32 %1, -1
  %5 = and i1 %3, %4
  br i1 %5, label %6, label %25

6:                                                ; preds = %2
  %7 = zext nneg i32 %1 to i64
  %8 = load i64, ptr getelementptr inbounds nuw (i8, ptr @xonnc_info, i64 8), align 8
  %9 = icmp sgt i64 %8, %7
  br i1 %9, label %10, label %25

10:                                               ; preds = %6
  %11 = tail call fastcc i32 @xonnc_place(ptr noundef %0)
  %12 = icmp eq i32 %11, 0
  br i1 %12, label %13, label %25

13:                                               ; preds = %10
  %14 = getelementptr inbounds nuw i8, ptr %0, i64 72
  %15 = load ptr, ptr %14, align 8
  %16 = load i64, ptr @xonnc_info, align 8
  %17 = add nsw i64 %16, %7
  %18 = shl nsw i64 %17, 5
  %19 = getelementptr inbounds i8, ptr @xonnc_ports, i64 %18
  %20 = getelementptr inbounds nuw i8, ptr %19, i64 8
  %21 = load i64, ptr %20, align 8
  %22 = load i64, ptr getelementptr inbounds nuw (i8, ptr @xonnc_info, i64 48), align 8
  %23 = sub nsw i64 %21, %22
  %24 = getelementptr inbounds i64, ptr %15, i64 %23
  br label %25

25:                                               ; preds = %2, %6, %10, %13
  %26 = phi ptr [ %24, %13 ], [ null, %10 ], [ null, %6 ], [ null, %2 ]
  ret ptr %26
}

define i64 @PREFIX_get_output_bytes(ptr noundef captures(address_is_null) %0, i32 noundef %1) {
  %3 = icmp ne ptr %0, null
  %4 = icmp sgt i32 %1, -1
  %5 = and i1 %3, %4
  br i1 %5, label %6, label %31

6:                                                ; preds = %2
  %7 = zext nneg i32 %1 to i64
  %8 = load i64, ptr getelementptr inbounds nuw (i8, ptr @xonnc_info, i64 8), align 8
  %9 = icmp sgt i64 %8, %7
  br i1 %9, label %10, label %31

10:                                               ; preds = %6
  %11 = tail call fastcc i32 @xonnc_place(ptr noundef %0)
  %12 = icmp eq i32 %11, 0
  br i1 %12, label %13, label %31

13:                                               ; preds = %10
  %14 = load i64, ptr getelementptr inbounds nuw (i8, ptr @xonnc_info, i64 40), align 8
  %15 = icmp eq i64 %14, 0
  br i1 %15, label %22, label %16

16:                                               ; preds = %13
  %17 = getelementptr inbounds nuw i8, ptr %0, i64 64
  %18 = load ptr, ptr %17, align 8
  %19 = load i64, ptr getelementptr inbounds nuw (i8, ptr @xonnc_info, i64 80), align 8
  %20 = getelementptr i64, ptr %18, i64 %19
  %21 = getelementptr i64, ptr %20, i64 %7
  br label %28

22:                                               ; preds = %13
  %23 = load i64, ptr @xonnc_info, align 8
  %24 = add nsw i64 %23, %7
  %25 = shl nsw i64 %24, 5
  %26 = getelementptr inbounds i8, ptr @xonnc_ports, i64 %25
  %27 = getelementptr inbounds nuw i8, ptr %26, i64 16
  br label %28

28:                                               ; preds = %16, %22
  %29 = phi ptr [ %21, %16 ], [ %27, %22 ]
  %30 = load i64, ptr %29, align 8
  br label %31

31:                                               ; preds = %2, %6, %10, %28
  %32 = phi i64 [ %30, %28 ], [ 0, %10 ], [ 0, %6 ], [ 0, %2 ]
  ret i64 %32
}

declare void @llvm.memset.p0.i64(ptr writeonly captures(none), i8, i64, i1 immarg)

declare noalias noundef ptr @malloc(i64 noundef)

declare noalias noundef ptr @fopen(ptr noundef readonly captures(none), ptr noundef readonly captures(none))

declare noundef i64 @fread(ptr noundef writeonly captures(none), i64 noundef, i64 noundef, ptr noundef captures(none))

declare noundef i32 @fclose(ptr noundef captures(none))

declare i32 @memcmp(ptr noundef, ptr noundef, i64 noundef)

declare void @free(ptr allocptr noundef captures(none))

declare i64 @llvm.abs.i64(i64, i1 immarg)

declare void @llvm.memcpy.p0.p0.i64(ptr noalias writeonly captures(none), ptr noalias readonly captures(none), i64, i1 immarg)

declare i64 @llvm.smax.i64(i64, i64)

declare i64 @llvm.smin.i64(i64, i64)
